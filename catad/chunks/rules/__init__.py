"""What each box does on arrays in blocks: one file for each kind of boxes, entered into the table of `table.py`."""

from catad.chunks.rules import bins as bins
from catad.chunks.rules import checks as checks
from catad.chunks.rules import contractions as contractions
from catad.chunks.rules import extension as extension
from catad.chunks.rules import folds as folds
from catad.chunks.rules import indexing as indexing
from catad.chunks.rules import matrices as matrices
from catad.chunks.rules import moves as moves
from catad.chunks.rules import overwriting as overwriting
from catad.chunks.rules import pointwise as pointwise
from catad.chunks.rules import reshaping as reshaping
from catad.chunks.rules import sorting as sorting
from catad.chunks.rules import windows as windows
from catad.chunks.rules.loops import bounded as bounded
from catad.chunks.rules.loops import choices_and_calls as choices_and_calls
from catad.chunks.rules.loops import steps as steps
from catad.chunks.rules.loops import while_loops as while_loops
from catad.chunks.rules.sequences import affine as affine
from catad.chunks.rules.sequences import recurrences as recurrences
from catad.chunks.rules.sequences import scans as scans
from catad.chunks.rules.sequences import segments as segments
from catad.chunks.rules.sequences import winners as winners
