"""compile: imports a package that is not there"""

import no_such_package
