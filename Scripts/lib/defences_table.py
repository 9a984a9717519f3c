"""All defences that a weakened build can do without."""

from defences_local import LOCAL
from defences_names import NAMES
from defences_pairing import PAIRING
from defences_session import SESSION

DEFENCES = [*NAMES, *PAIRING, *SESSION, *LOCAL]
