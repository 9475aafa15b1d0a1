SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter
