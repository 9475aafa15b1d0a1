<?php
// A worker of Symfony Messenger on its Doctrine transport, as `messenger:consume` runs it, outside of
// an application: consumer.php [work INTERVAL DURATION], check_delayed_interval and how long a handler
// takes, both in ms. With the argument "schema" it only makes its table and trigger.
foreach (['Doctrine/DBAL', 'Symfony/Component/EventDispatcher', 'Symfony/Component/Messenger',
          'Symfony/Component/Messenger/Bridge/Doctrine'] as $part) {
    require_once "/usr/share/php/$part/autoload.php";
}

use Doctrine\DBAL\DriverManager;
use Psr\Log\AbstractLogger;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\DoctrineTransport;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\PostgreSqlConnection;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\StopWorkerOnSigtermSignalListener;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Worker;

class Got
{
    public int $id;
    public function __construct(int $id) { $this->id = $id; }
}

// Messages of other programs need a serializer of one's own, as the documentation shows.
class FromSql implements SerializerInterface
{
    public function decode(array $encodedEnvelope): Envelope { return new Envelope(new Got((int) $encodedEnvelope['body'])); }
    public function encode(Envelope $envelope): array { return ['body' => (string) $envelope->getMessage()->id, 'headers' => []]; }
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
$transport = new DoctrineTransport(new PostgreSqlConnection([
    'table_name' => 'messenger_messages',
    'queue_name' => 'default',
    'redeliver_timeout' => 5,
    'check_delayed_interval' => (int) ($argv[2] ?? 1000),
    'auto_setup' => false,
], $doctrine), new FromSql());
if (($argv[1] ?? '') === 'schema') {
    $transport->setup();
    exit(0);
}

$seen = []; // how often this process has got each job
$bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([
    Got::class => [function (Got $got) use (&$seen, $argv) {
        $seen[$got->id] = ($seen[$got->id] ?? 0) + 1;
        fwrite(STDOUT, "got {$got->id} {$seen[$got->id]}\n");
        usleep(1000 * (int) ($argv[3] ?? 0));
    }],
]))]);
pcntl_async_signals(true); // as the console does
$events = new EventDispatcher();
$events->addSubscriber(new StopWorkerOnSigtermSignalListener());
(new Worker(['default' => $transport], $bus, $events, new Logs()))->run();
