"""What guides feel: solids, friction, wind, attraction to a shape; parts plugged into the ports of `mane.strand`."""
