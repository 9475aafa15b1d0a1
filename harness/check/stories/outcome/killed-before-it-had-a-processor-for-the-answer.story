# Killed before it had a processor for the answer. The sender answered 440 ms before the collector
# was killed, and of these it waited 430 ms for a processor that others had.
like records-an-answer-late.story
look at 150 waited 0 own 1
look at 600 waited 430 own 1
look at 1310 waited 0 own 1
=> verdict pass
