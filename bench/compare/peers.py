"""The Python environment of the peers: torchgpipe, and what draws the plots, in a folder of its own. PyTorch is the one
that FreezePipe is built with, so that both sides run the same kernels; FreezePipe itself needs none of this."""

import os
import pathlib
import subprocess
import sys

CACHE = pathlib.Path(os.environ.get("FREEZEPIPE_CACHE", pathlib.Path.home() / ".cache" / "freezepipe"))
# xxhash: FreezePipe's seeds are XXH3 hashes. setuptools: torchgpipe is a source package.
REQUIREMENTS = ["torchgpipe==0.0.7", "xxhash", "matplotlib", "setuptools"]


def enter():
    """Goes on as the same program under the peers' Python, which is made first where it is missing."""
    folder = CACHE / "peers"
    if pathlib.Path(sys.prefix) == folder:
        return
    stamp = folder / "freezepipe.stamp"
    wanted = "\n".join(REQUIREMENTS)
    if not stamp.exists() or stamp.read_text() != wanted:
        make(folder)
        stamp.write_text(wanted)
    os.execv(folder / "bin" / "python", [str(folder / "bin" / "python"), *sys.argv])


def make(folder):
    build = CACHE / "venv"
    torch = next(build.glob("lib/python3*/site-packages/torch"), None)
    if torch is None:
        raise SystemExit(f"PyTorch is missing under {build}: run scripts/setup")
    print(f"Setting up the peers under {folder} (a minute)", flush=True)
    subprocess.run([str(build / "bin" / "python"), "-m", "venv", str(folder)], check=True)
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "libtorch.pth").write_text(f"{torch.parent}\n")
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS]
    if subprocess.run(pip).returncode != 0:
        raise SystemExit("pip could not install the peers (its message is above): " + ", ".join(REQUIREMENTS))
