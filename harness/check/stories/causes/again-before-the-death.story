# Again before the death. The line comes again before its writer dies, so no cause excuses it.
set collector.instances=2
process 0 until 1300 killed
process 1 instance 1
token 0 at 50
line by 0 at 150: 0
line by 1 at 300: 0
=> duplicated 1
