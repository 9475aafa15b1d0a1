# Just enough judged. One of two tokens is judged, which is what the scenario asks for.
like too-little-judged.story
set judged.late=0.5
=> verdict pass
