# Unrecovered, though programs that do not belong to the run use a tenth of the processors only.
like unrecovered-in-a-crowd-within-the-slack.story
run others 10%
=> unrecovered 1
