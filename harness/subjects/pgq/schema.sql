SELECT pgq.create_queue('q');
SELECT pgq.set_queue_config('q', 'ticker_max_lag', '0.1 seconds');
SELECT pgq.set_queue_config('q', 'ticker_idle_period', '1 second');
SELECT pgq.register_consumer('q', 'c');
