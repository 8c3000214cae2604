"""Builds cairn-client by PEP 517: a wheel and a source archive of the files here, with the standard library alone."""
import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
VERSION = re.search(r'__version__ = "(.+)"', (HERE / "cairn_client/__init__.py").read_text())[1]
NAME = f"cairn_client-{VERSION}"
METADATA = f"""Metadata-Version: 2.4
Name: cairn-client
Version: {VERSION}
Summary: Client for Cairn, the clustered memory server for AI agents
License-Expression: Apache-2.0
Project-URL: Source, https://github.com/cairndb/cairn
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: cairn\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
FIRST = (1980, 1, 1, 0, 0, 0)  # the same files make the same wheel


def package():
    files = sorted((HERE / "cairn_client").iterdir())
    return {f"cairn_client/{p.name}": p.read_bytes() for p in files if p.suffix == ".py" or p.name == "py.typed"}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {**package(), f"{NAME}.dist-info/METADATA": METADATA.encode(), f"{NAME}.dist-info/WHEEL": WHEEL.encode()}
    digest = lambda b: base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode()
    record = f"{NAME}.dist-info/RECORD"
    rows = [f"{name},sha256={digest(b)},{len(b)}\n" for name, b in files.items()]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in files.items():
            z.writestr(zipfile.ZipInfo(name, FIRST), content, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    files = {**package(), "PKG-INFO": METADATA.encode()}
    files.update({name: (HERE / name).read_bytes() for name in ("backend.py", "pyproject.toml", "README.md")})
    with tarfile.open(Path(sdist_directory, f"{NAME}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as t:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{NAME}/{name}")
            info.size = len(content)
            t.addfile(info, io.BytesIO(content))
    return f"{NAME}.tar.gz"
