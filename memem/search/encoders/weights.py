"""Find the weights of the embedding model, and prove by their checksums that they are the published ones."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import WeightsMissing
from memem.core.files import from_json

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
_FOLDER = MODEL.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    size: int
    sha256: str


FILES = (
    ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ModelFile("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
)  # smallest first: a problem with it is found before 90 MB are hashed or fetched
IDENTITY = f"{MODEL} {FILES[-1].sha256}"  # of its vectors, whichever encoder computed them


@dataclass(frozen=True, slots=True)
class WeightsFolder:
    """A folder with the verified files of the model; `problems` describes the places before it."""

    folder: Path
    source: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Places:
    model_dir: Path | None  # set by the user
    hub_cache: Path
    models: Path  # in this home
    usual: Path | None = None  # in the user's own home, if that is another

    @property
    def own(self) -> Path:
        return self.models / _FOLDER

    @property
    def record(self) -> Path:
        return self.models / "checksums.json"

    def in_order(self) -> Iterator[tuple[str, Path]]:
        if self.model_dir:
            yield "MEMEM_MODEL_DIR", self.model_dir
        yield "hub cache", self.hub_cache / f"models--{MODEL.replace('/', '--')}" / "snapshots" / REVISION
        yield "models", self.own
        if self.usual and self.usual != self.models:
            yield "models", self.usual / _FOLDER


def find(places: Places) -> WeightsFolder:
    checksums = _load_checksums(places.record)
    before, problems = dict(checksums), list[str]()
    try:
        for source, folder in places.in_order():
            # Only a folder that the user names may not be empty.
            if folder != places.model_dir and all(_is_absent(folder / file.name) for file in FILES):
                continue
            checked = (problem_with(folder / file.name, file, checksums) for file in FILES)
            problem = next(filter(None, checked), "")
            if not problem:
                return WeightsFolder(folder, source, tuple(problems))
            problems.append(f"{source}: {problem}")
    finally:
        if checksums != before:
            present = {path: stored for path, stored in checksums.items() if not _is_absent(Path(path))}
            with suppress(OSError):  # in a home that cannot be written to, files are hashed again
                files.make_private_folder(places.models)
                text = json.dumps(present, indent=1).encode()
                files.write_atomic(places.record, text, fsync=False, mode=files.PRIVATE_FILE)
    wrong = f" ({'; '.join(problems)})" if problems else ""
    raise WeightsMissing(f"The weights of {MODEL} were not found{wrong}. Run `memem index model fetch`.")


def problem_with(path: Path, file: ModelFile, checksums: dict[str, object] | None = None) -> str:
    """Say why the file at `path` is not `file` as published; empty when it is."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return f"{path} is not a file"
        if status.st_size != file.size:
            return f"{path} has {status.st_size} bytes instead of {file.size}"
        if (sha256_of(path) if checksums is None else _checksum(path, checksums)) != file.sha256:
            return f"{path} is not the published file (its SHA-256 differs)"
    except (FileNotFoundError, NotADirectoryError):
        return f"{path} is {'missing' if _is_absent(path) else 'a link to a file that is gone'}"
    except OSError as error:
        return f"{path} cannot be read ({(error.strerror or str(error)).lower()})"
    return ""


def sha256_of(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_absent(path: Path) -> bool:
    """Tell whether nothing has this name, not even a link; a path that we may not look at exists."""
    try:
        path.lstat()
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def _load_checksums(record: Path) -> dict[str, object]:
    """Load the checksums of hashed files, stored between processes; also of wrong ones, which are as slow to hash."""
    try:
        stored = from_json(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _checksum(path: Path, checksums: dict[str, object]) -> str:
    stamp, stored = _stamp(path), checksums.get(str(path))
    if isinstance(stored, list) and stored[:-1] == stamp:
        return str(stored[-1])
    checksum = sha256_of(path)
    if _stamp(path) == stamp:  # else it changed while it was hashed
        checksums[str(path)] = [*stamp, checksum]
    return checksum


def _stamp(path: Path) -> list[str | int]:
    status = path.stat()
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
