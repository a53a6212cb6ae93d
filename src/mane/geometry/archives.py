"""What reading a damaged archive of NumPy arrays raises."""

import struct
import zipfile
import zlib

# Cut, garbled, encrypted, or packed in a way that the module `zipfile` does not know.
DAMAGED_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error)
