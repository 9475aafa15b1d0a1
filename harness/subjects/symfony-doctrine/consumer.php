<?php
// A worker of Symfony Messenger on its Doctrine transport, as `messenger:consume` runs it, outside of
// an application: consumer.php [work INTERVAL DURATION], check_delayed_interval and how long a handler
// takes, both in ms. With the argument "schema" it only makes its table and trigger.
foreach (['Doctrine/DBAL', 'Symfony/Component/EventDispatcher', 'Symfony/Component/Messenger',
          'Symfony/Component/Messenger/Bridge/Doctrine'] as $part) {
    require_once "/usr/share/php/$part/autoload.php";
}

use Doctrine\DBAL\DriverManager;
use Psr\Container\ContainerInterface;
use Psr\Log\AbstractLogger;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\DoctrineTransport;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\PostgreSqlConnection;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\SendFailedMessageToFailureTransportListener;
use Symfony\Component\Messenger\EventListener\StopWorkerOnSigtermSignalListener;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Worker;

// Ends the handler as the harness answers, where it does. A signal must not have to wait for the
// answer, and a handler that was cut short leaves its answer behind.
function end_as_asked(int $id)
{
    $word = 'ok';
    for ($number = null; getenv('MAILPROOF_ANSWERS') && $number !== $id && !feof(STDIN);) {
        do {
            [$read, $none] = [[STDIN], null];
        } while (!@stream_select($read, $none, $none, 0, 100000));
        [$word, $number] = sscanf((string) fgets(STDIN), '%s %d');
    }
    if ($word === 'fail') throw new RuntimeException('as asked');
    while ($word === 'hang') sleep(1);
}

class Got
{
    public int $id;
    public function __construct(int $id) { $this->id = $id; }
}

// Messages of other programs need a serializer of one's own, as the documentation shows.
class FromSql implements SerializerInterface
{
    public function decode(array $encodedEnvelope): Envelope
    {
        $body = $encodedEnvelope['body'];
        return ctype_digit($body) ? new Envelope(new Got((int) $body)) : (new PhpSerializer())->decode($encodedEnvelope);
    }

    // A message that is put back, to be retried, carries the number of its retries.
    public function encode(Envelope $envelope): array { return (new PhpSerializer())->encode($envelope); }
}

// Names what the listeners ask for.
class Names implements ContainerInterface
{
    private array $things;
    public function __construct(array $things) { $this->things = $things; }
    public function get(string $id) { return $this->things[$id]; }
    public function has(string $id): bool { return isset($this->things[$id]); }
}

class Logs extends AbstractLogger
{
    public function log($level, $message, array $context = []): void { fwrite(STDERR, "$level: $message\n"); }
}

$doctrine = DriverManager::getConnection([
    'driver' => 'pdo_pgsql',
    'host' => getenv('PGHOST'),
    'port' => getenv('PGPORT') ?: 5432,
    'dbname' => getenv('PGDATABASE'),
    'user' => getenv('PGUSER'),
    'password' => getenv('PGPASSWORD') ?: null,
]);
function transport($doctrine, string $queue, int $interval)
{
    return new DoctrineTransport(new PostgreSqlConnection([
        'table_name' => 'messenger_messages',
        'queue_name' => $queue,
        'redeliver_timeout' => 5,
        'check_delayed_interval' => $interval,
    ], $doctrine), new FromSql());
}

$transport = transport($doctrine, 'default', (int) ($argv[2] ?? 1000));
if (($argv[1] ?? '') === 'schema') {
    $transport->setup();
    exit(0);
}

$seen = []; // how often this process has got each job
$bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([
    Got::class => [function (Got $got) use (&$seen, $argv) {
        $seen[$got->id] = ($seen[$got->id] ?? 0) + 1;
        fwrite(STDOUT, "got {$got->id} {$seen[$got->id]}\n");
        end_as_asked($got->id);
        usleep(1000 * (int) ($argv[3] ?? 0));
    }],
]))]);
pcntl_async_signals(true); // as the console does
$events = new EventDispatcher();
$events->addSubscriber(new StopWorkerOnSigtermSignalListener());
// As its recipe sets it up: three retries after 1, 2 and 4 s, then the transport "failed".
$events->addSubscriber(new SendFailedMessageForRetryListener(
    new Names(['default' => $transport]), new Names(['default' => new MultiplierRetryStrategy(3, 1000, 2)])));
$events->addSubscriber(new SendFailedMessageToFailureTransportListener(new Names(['default' => transport($doctrine, 'failed', 1000)])));
(new Worker(['default' => $transport], $bus, $events, new Logs()))->run();
