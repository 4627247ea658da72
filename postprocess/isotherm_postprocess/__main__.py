import sys

from isotherm_postprocess.cli import main

sys.exit(main())
