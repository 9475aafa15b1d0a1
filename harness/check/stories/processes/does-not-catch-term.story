# Does not catch TERM. The process dies of it.
like ends-at-term.story
without process 0 until 1000 exit 0 asked
process 0 until 1000 signal 15
=> verdict pass
