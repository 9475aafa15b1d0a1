# Leaks 400 bytes a mail. 150 mails a second go out for twenty seconds, which is 60 kB a second.
set load.0.for=20s
run until 22000
token 0 at 50
line at 150: 0
sample at 0 rss 5000
sample at 500 rss 5030
sample at 1000 rss 5060
sample at 1500 rss 5090
sample at 2000 rss 5120
sample at 2500 rss 5150
sample at 3000 rss 5180
sample at 3500 rss 5210
sample at 4000 rss 5240
sample at 4500 rss 5270
sample at 5000 rss 5300
sample at 5500 rss 5330
sample at 6000 rss 5360
sample at 6500 rss 5390
sample at 7000 rss 5420
sample at 7500 rss 5450
sample at 8000 rss 5480
sample at 8500 rss 5510
sample at 9000 rss 5540
sample at 9500 rss 5570
sample at 10000 rss 5600
sample at 10500 rss 5630
sample at 11000 rss 5660
sample at 11500 rss 5690
sample at 12000 rss 5720
sample at 12500 rss 5750
sample at 13000 rss 5780
sample at 13500 rss 5810
sample at 14000 rss 5840
sample at 14500 rss 5870
sample at 15000 rss 5900
sample at 15500 rss 5930
sample at 16000 rss 5960
sample at 16500 rss 5990
sample at 17000 rss 6020
sample at 17500 rss 6050
sample at 18000 rss 6080
sample at 18500 rss 6110
sample at 19000 rss 6140
sample at 19500 rss 6170
=> leak 1
