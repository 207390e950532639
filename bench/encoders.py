"""Our encoder and sentence-transformers on the same texts, in turns, in one process: `python -m bench.encoders FOLDER`.

Run by `python -m bench meaning --reference PYTHON` with an interpreter that has both; FOLDER is a whole model folder.
"""

import json
import sys
from itertools import repeat
from pathlib import Path

from bench import vaults
from bench.measure import interleave, timed
from memem.search.passages import split_passages
from memem.workspace import Workspace

TEXTS = 400
ROUNDS = 3


def main(folder: Path) -> None:
    """Print the seconds that a batch took each, as JSON."""
    Workspace.load_numpy()
    from memem.search.encoders.minilm import MiniLM
    from memem.search.encoders.sentence import SentenceEncoder

    texts = [text for number in range(TEXTS) for text in split_passages(vaults.memory(number))][:TEXTS]
    ours, reference = MiniLM(folder, "ours"), SentenceEncoder(str(folder))
    taken = interleave(
        {"ours": timed(ours.passages, repeat(texts)), "reference": timed(reference.passages, repeat(texts))}, ROUNDS
    )
    print(json.dumps({"texts": len(texts), **taken}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
