# A line again. A token written twice is duplicated. The second line says nothing about the timeout.
process 0 until 400 killed
process 1 from 500
token 0 at 50
line at 150: 0
token 1 at 200
line at 300: 1
line at 302: 1
=> duplicated 1
