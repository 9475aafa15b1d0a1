# A worker as Minion::Worker's run() begins, with shorter times than its defaults. With the argument "schema" it only makes its tables.
use strict;
use warnings;
use Minion;
use Mojo::Pg;

# Without an address, Mojo::Pg reads libpq's variables.
my $minion = Minion->new(Pg => Mojo::Pg->new);
$minion->missing_after(3)->backoff(sub { 1 });    # a worker that died is noticed after 3 s
if (($ARGV[0] // '') eq 'schema') {
    $minion->stats;
    exit 0;
}
$minion->add_task(
    t => sub {
        my ($job, $id) = @_;
        syswrite STDOUT, "got $id " . (1 + $job->retries) . "\n";
        my ($word, $byte) = ('', '');
        while ($ENV{MAILPROOF_ANSWERS} && $word !~ / $id\n/ && sysread STDIN, $byte, 1) {
            $word = $word =~ /\n/ ? $byte : $word . $byte;    # another job's answer was left behind
        }
        die "as asked\n" if $word =~ /^fail/;
        sleep if $word =~ /^hang/;
    }
);
my $worker = $minion->worker;
# All its processes have one standard input, so only one of them asks at a time.
$worker->status->{jobs} = 1 if $ENV{MAILPROOF_ANSWERS};
$worker->status->{$_} = 1 for qw(heartbeat_interval repair_interval dequeue_timeout);
$worker->run;
