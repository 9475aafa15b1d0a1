# Just enough judged. One of two tokens is judged, which is enough by default and too little for a
# scenario that asks for 60%.
set judged.late=0.5
token 0 at 50
line at 150: 0
token 1 at 200
line at 360: 1
probe at 201 stalled 60
=> verdict pass
