"""The command line: help that teaches, errors of one line, exit codes."""

import json
import subprocess
import sys

import pytest

from mane.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"mane {command} " in capsys.readouterr().out.split("example", 1)[-1]


def test_top_level_help_lists_every_command(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(command in text for command in COMMANDS)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["style", "curly", "-o", "/no/such/folder/x.npz", "--strands", "10"], "/no/such/folder"),
        (["style", "bouffant"], "'bouffant' is unknown; choose from"),
        (["style", "curly", "--strands", "0"], "strands: must be at least 1"),
        (["style", "curly", "--strands", "1000000000"], "--strands: 1,000,000,000 take some 1,920 GB of memory"),
        (["style", "curly", "--strands", "10", "--set", "lenght=0.2"], "has no option 'lenght'; it has"),
        (["style", "curly", "--strands", "10", "--set", "length"], "--set: must be NAME=NUMBER, got 'length'"),
        (["info", "/no/such/file.npz"], "/no/such/file.npz"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_exit_code_2(argv, message, capsys):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mane: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_style_then_info_agree(tmp_path, capsys):
    path = tmp_path / "carpet.npz"
    assert main(["style", "carpet", "--strands", "50", "--vertices", "6", "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["info", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["strands"], report["points"]) == (50, 300)
    assert report["problems"] == []


def test_style_list_names_every_style(capsys):
    from mane.groom import styles

    assert main(["style", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in styles.STYLES)


def test_a_closed_pipe_is_no_error():
    code = "import sys; from mane.cli import main; sys.exit(main(['style', '--list']))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_body_in_other_units_is_named_not_guessed(tmp_path, capsys):
    import mane

    hair, body = tmp_path / "ball.npz", tmp_path / "ball.obj"
    mane.write_groom(hair, mane.styles.make("ball", strands=20, vertices=4))
    mane.write_mesh(body, mane.shapes.Sphere((0, 0, 0), 60.0).mesh(16))
    assert main(["repair", str(hair), str(tmp_path / "out.npz"), "--body", str(body)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "ball.obj: hair must fit its body" in err
    assert "these look like millimetres: --body-unit mm; --any-scale takes them as they are" in err
    assert not (tmp_path / "out.npz").exists()
