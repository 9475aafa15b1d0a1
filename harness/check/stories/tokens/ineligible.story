# Ineligible.
token 0 at 50
line at 150: 0
token 1 suspended at 250
line at 350: 1
=> ineligible 1
