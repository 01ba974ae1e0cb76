"""`python -m shardc` is the program `shardc`."""

from shardc._program import main

main()
