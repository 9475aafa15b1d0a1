# A window opened by an ineligible token. The window was opened by a token that is not eligible.
token 0 at 50
line at 150: 0
token 1 expired at 300
token 2 at 380
line at 400: 2
=> verdict pass
