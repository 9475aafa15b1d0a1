# Sent, and tried again. The answer that the token was sent got through, and yet the token comes
# again.
like sent.story
line at 400: 0 sent 410
=> resurrected 1
