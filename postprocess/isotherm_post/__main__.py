import sys

from isotherm_post.cli import main

sys.exit(main())
