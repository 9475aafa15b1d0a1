# Woken long after a delay. What the delay held up has arrived at 3000 ms at the latest.
like woken-by-what-a-delay-had-put-on-its-way.story
sample at 3700 wakeups 40
=> busy_idle 1
