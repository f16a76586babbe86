"""PyTorch operators that MindSpore has under other names and arguments, with PyTorch signatures.

No form is trusted because it exists: `opbridge.models.scan.trials` calls it as a network does and compares the results.
"""

from opbridge.models.scan.forms.added_operators import *  # noqa: F403
from opbridge.models.scan.forms.attention import *  # noqa: F403
from opbridge.models.scan.forms.basic import *  # noqa: F403
from opbridge.models.scan.forms.basic import _weight_norm as _weight_norm
from opbridge.models.scan.forms.batch_norms import *  # noqa: F403
from opbridge.models.scan.forms.einstein_sums import *  # noqa: F403
from opbridge.models.scan.forms.recurrent import *  # noqa: F403
from opbridge.models.scan.forms.transposed_convolutions import *  # noqa: F403
from opbridge.models.scan.forms.upsampling import *  # noqa: F403
