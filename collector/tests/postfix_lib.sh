# shellcheck shell=sh
# A Postfix of the test's own, from a folder into which ci/unpack has unpacked Debian's; sourced.
# It has its own queue and settings, listens on one port of 127.0.0.1, sends nothing on, and puts every
# mail into a Maildir. Its master drops rights, so only root can start it.

postfix_root=
postfix_home=

# Debian's daemons are told where everything is, and find their own libraries.
postfix_run() # program, arguments
{
    postfix_program=$1
    shift
    LD_LIBRARY_PATH=$postfix_root/usr/lib/postfix "$postfix_root/usr/sbin/$postfix_program" \
        -c "$postfix_home/etc" "$@"
}

# Takes accounts that every Debian has and that run nothing.
start_postfix() # root, home, port
{
    postfix_root=$1 postfix_home=$2
    mkdir -p "$postfix_home/etc" "$postfix_home/queue" "$postfix_home/data" "$postfix_home/mails"
    chmod 755 "$postfix_home"
    chown uucp "$postfix_home/data"
    chown daemon "$postfix_home/mails"
    cp "$postfix_root/etc/postfix/postfix-files" "$postfix_home/etc/"
    cat >"$postfix_home/etc/main.cf" <<CF
compatibility_level = 3.6
queue_directory = $postfix_home/queue
data_directory = $postfix_home/data
daemon_directory = $postfix_root/usr/lib/postfix/sbin
command_directory = $postfix_root/usr/sbin
shlib_directory = $postfix_root/usr/lib/postfix
meta_directory = $postfix_home/etc
mail_owner = uucp
setgid_group = games
default_privs = daemon
import_environment = MAIL_CONFIG LD_LIBRARY_PATH TZ
maillog_file = $postfix_home/log
maillog_file_prefixes = /
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mail.invalid
mydestination =
alias_maps =
alias_database =
relay_domains =
default_transport = error
relay_transport = error
smtpd_peername_lookup = no
virtual_mailbox_domains = x.example
virtual_mailbox_base = $postfix_home/mails
virtual_mailbox_maps = static:all/
virtual_minimum_uid = 1
virtual_uid_maps = static:$(id -u daemon)
virtual_gid_maps = static:$(id -g daemon)
CF
    cat >"$postfix_home/etc/master.cf" <<CF
127.0.0.1:$3 inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
CF
    postfix_run postfix start >"$postfix_home/start.log" 2>&1 || {
        cat "$postfix_home/start.log" "$postfix_home/log"
        return 1
    }
}

# Ends it as an administrator does. Its queue stays.
stop_postfix()
{
    [ -z "$postfix_home" ] || postfix_run postfix stop >/dev/null 2>&1 || true
}
