# Killed long after it had a processor for the answer. As in the story of the one that had none, but
# it waited for 100 ms only.
like records-an-answer-late.story
look at 150 waited 0 own 1
look at 600 waited 100 own 1
look at 1310 waited 0 own 1
=> resurrected 1
