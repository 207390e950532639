"""The weights of the embedding model: where they are found, and the proof that they are the published ones.

Every query passes here, so a file is hashed once and then known by its stamp: a few stats and one small JSON file.
"""

import json
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memem.core import files
from memem.core.errors import WeightsMissing
from memem.core.files import from_json

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of the model, as its publisher made it."""

    name: str
    size: int
    sha256: str


FILES = (
    ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ModelFile("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
)
"""Smallest first: what is wrong with it is known before 90 MB are hashed or fetched."""
IDENTITY = f"{MODEL} {FILES[-1].sha256}"
"""What vectors of this model are filed under, whichever encoder computed them."""


@dataclass(frozen=True, slots=True)
class WeightsFolder:
    """A folder that holds the model's files, each proven; `problems` tells of the places before it that do not."""

    folder: Path
    source: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Places:
    """Where weights may be: the user's folder, the hub's cache on this machine, and `models`, which is ours.

    `usual` is where they were fetched to, should this home be another than the user's own.
    """

    model_dir: Path | None
    hub_cache: Path
    models: Path
    usual: Path | None = None

    @property
    def own(self) -> Path:
        """Where fetched files are kept."""
        return _in(self.models)

    @property
    def record(self) -> Path:
        """What the files hashed to, so that an unchanged one is not hashed again."""
        return self.models / "checksums.json"

    def in_order(self) -> Iterator[tuple[str, Path]]:
        """Each place with the name it is shown by, the first to be asked first."""
        if self.model_dir:
            yield "MEMEM_MODEL_DIR", self.model_dir
        yield "hub cache", self.hub_cache / f"models--{MODEL.replace('/', '--')}" / "snapshots" / REVISION
        yield "models", self.own
        if self.usual and self.usual != self.models:
            yield "models", _in(self.usual)


def _in(models: Path) -> Path:
    return models / MODEL.rpartition("/")[2]


def find(places: Places) -> WeightsFolder:
    """The first place whose files are all as published. Raises WeightsMissing when there is none."""
    checksums = _Checksums(places.record)
    problems: list[str] = []
    try:
        for source, folder in places.in_order():
            # A place that nobody promised anything about may be empty; a folder that the user names may not.
            if folder != places.model_dir and all(_is_absent(folder / file.name) for file in FILES):
                continue
            problem = _problem_in(folder, checksums.of)
            if not problem:
                return WeightsFolder(folder, source, tuple(problems))
            problems.append(f"{source}: {problem}")
    finally:
        checksums.keep()
    wrong = f" ({'; '.join(problems)})" if problems else ""
    raise WeightsMissing(f"The weights of {MODEL} were not found{wrong}. Run `memem index model fetch`.")


def problem_with(path: Path, file: ModelFile, checksum: Callable[[Path], str] | None = None) -> str:
    """Why the file at `path` is not `file` as published; empty when it is."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return f"{path} is not a file"
        if status.st_size != file.size:
            return f"{path} has {status.st_size} bytes instead of {file.size}"
        if (checksum or sha256_of)(path) != file.sha256:
            return f"{path} is not the published file (its sha256 is another)"
    except (FileNotFoundError, NotADirectoryError):
        return f"{path} is {'missing' if _is_absent(path) else 'a link to a file that is gone'}"
    except OSError as error:
        return f"{path} cannot be read ({(error.strerror or str(error)).lower()})"
    return ""


def sha256_of(path: Path) -> str:
    """The checksum of a file; 90 MB take a few tenths of a second."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _problem_in(folder: Path, checksum: Callable[[Path], str]) -> str:
    """The first problem of a folder's files; empty when all are as published."""
    problems = (problem_with(folder / file.name, file, checksum) for file in FILES)
    return next(filter(None, problems), "")


def _is_absent(path: Path) -> bool:
    """Whether nothing has this name, not even a link; what we may not look at is there."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


class _Checksums:
    """What files hashed to, remembered between processes. A wrong file is remembered too: it is as slow to hash."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._known = _read(record)
        self._is_changed = False

    def of(self, path: Path) -> str:
        """The checksum of the file at `path`, hashed only when it is not the one that was hashed before."""
        stamp = _stamp(path)
        known = self._known.get(str(path))
        if isinstance(known, list) and known[:-1] == stamp:
            return str(known[-1])
        checksum = sha256_of(path)
        if _stamp(path) == stamp:  # else it changed under our hands, and nobody knows what the stamp stands for
            self._known[str(path)] = [*stamp, checksum]
            self._is_changed = True
        return checksum

    def keep(self) -> None:
        """Write down what is new. A home that cannot be written to costs the time to hash again, no more."""
        if not self._is_changed:
            return
        still_there = {path: known for path, known in self._known.items() if not _is_absent(Path(path))}
        try:
            files.make_private_folder(self._record.parent)
            data = json.dumps(still_there, indent=1).encode()
            files.write_atomic(self._record, data, fsync=False, mode=files.PRIVATE_FILE)
        except OSError:
            return


def _read(record: Path) -> dict[str, object]:
    try:
        known = from_json(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _stamp(path: Path) -> list[str | int]:
    """What tells, without reading, whether a file is still the one that was hashed, behind whatever links."""
    status = path.stat()
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
