# A worker of delayed_job, as `rake jobs:work` runs it, outside of an application: consumer.rb. With
# the argument "schema" it only makes its table; with "reconnects" a lost session is made anew.
require "active_support/all"
require "active_record"
require "logger"

# Without Rails nothing has begun the time zone that it stores times in.
Time.zone = "UTC"
ActiveRecord::Base.default_timezone = :utc
env = ENV
ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: env["PGHOST"], port: env["PGPORT"] || 5432,
  database: env["PGDATABASE"], username: env["PGUSER"], password: env["PGPASSWORD"]
)
require "delayed_job_active_record"

Got = Struct.new(:id) do
  # Ends as the harness answers, where it does. A handler that was cut short leaves its answer behind.
  def perform
    word, number = "ok", id.to_s
    number = nil if ENV["MAILPROOF_ANSWERS"]
    word, number = $stdin.gets.to_s.split until number == id.to_s || $stdin.closed?
    raise "as asked" if word == "fail"

    sleep if word == "hang"
  end

  def before(job)
    $stdout.syswrite("got #{id} #{job.attempts + 1}\n")
  end
end

# The table of its generator.
if ARGV[0] == "schema"
  ActiveRecord::Schema.define do
    create_table :delayed_jobs do |table|
      table.integer :priority, default: 0, null: false
      table.integer :attempts, default: 0, null: false
      table.text :handler, null: false
      table.text :last_error
      table.datetime :run_at
      table.datetime :locked_at
      table.datetime :failed_at
      table.string :locked_by
      table.string :queue
      table.timestamps null: true
    end
    add_index :delayed_jobs, %i[priority run_at], name: "delayed_jobs_priority"
  end
  exit
end

if ARGV[0] == "reconnects"
  Delayed::Job.define_singleton_method(:recover_from) { |_error| ActiveRecord::Base.connection.reconnect! }
end
Delayed::Worker.max_run_time = 5
Delayed::Worker.sleep_delay = 1
Delayed::Worker.logger = Logger.new($stderr, level: Logger::WARN)
Delayed::Worker.new(quiet: true).start
