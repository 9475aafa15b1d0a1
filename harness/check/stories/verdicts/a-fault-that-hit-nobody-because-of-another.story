# A fault that hit nobody because of another. A fault comes twice, and the first time it finds no
# target. Both turns of the fault were left out because another planned fault was at work, so the
# run is conclusive.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} planned 200 busy
fault 0 planned 300 busy
token 1 at 400
line at 500: 1
=> verdict pass
