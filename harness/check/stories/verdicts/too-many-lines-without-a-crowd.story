# Too many lines on a machine that does nothing else.
like too-many-lines-in-a-crowd.story
run others 10%
=> verdict violated
