package stores

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"
)

// Refused tells whether a store's error is what its server, which does answer, has against the URL: asking again will
// not help. The text is one sentence with the server's own words, none of which repeat a password.
func Refused(err error) (text string, ok bool) {
	if pg, isPostgres := errors.AsType[*pgconn.PgError](err); isPostgres {
		return refusedByPostgres(pg, err)
	}
	said, known := redisWords(err)
	if !known {
		return "", false
	}
	sentinels := strings.Contains(err.Error(), "sentinel")
	switch {
	case redis.IsAuthError(err) && sentinels:
		return fmt.Sprintf("--store: the Sentinels refuse the login (%s); mend ?sentinel_password= in --store or TENURE_STORE", said), true
	case redis.IsAuthError(err), strings.HasPrefix(said, "ERR AUTH"):
		return fmt.Sprintf("--store: the server refuses the login (%s); mend user and password, as in redis://user:password@host:6379/0", said), true
	case strings.Contains(said, "DB index is out of range"), strings.HasPrefix(said, "ERR invalid DB index"):
		return fmt.Sprintf("--store: the server has no such database (%s); the number behind the host must be below its setting \"databases\"", said), true
	case strings.Contains(said, "cluster support disabled"):
		return fmt.Sprintf("--store: the server is no cluster (%s); write redis:// instead of redis+cluster://", said), true
	case strings.HasPrefix(said, "ERR unknown command") && sentinels:
		return "--store: the hosts are no Sentinels; name the Sentinels' hosts and ports, or write redis:// for a server", true
	}
	return "", false
}

// Forbidden tells whether a store's error is that its server, which does answer, does not do what a fleet needs for now: a
// right, memory or a replica is missing, which may change. In PostgreSQL a missing right is a SetupError.
func Forbidden(err error) (text string, ok bool) {
	if pg, isPostgres := errors.AsType[*pgconn.PgError](err); isPostgres {
		if pg.Code != "53300" {
			return "", false
		}
		return fmt.Sprintf("the server takes no more connections (%s); end idle ones, raise max_connections, or use a pooler", pg.Message), true
	}
	said, known := redisWords(err)
	if !known {
		return "", false
	}
	said, _, _ = strings.Cut(said, " script: ") // where in a script it happened
	said = strings.TrimSuffix(said, ".")
	switch {
	case redis.IsPermissionError(err), strings.Contains(said, "can't run this command"), strings.Contains(said, "ACL failure"):
		return fmt.Sprintf("the user lacks a right on the server (%s); give it the fleet's keys and channel and the commands that Tenure uses, with ACL SETUSER (\"tenure check\" names what is missing)", said), true
	case redis.IsOOMError(err), strings.Contains(said, "OOM command"):
		return fmt.Sprintf("the server's memory is full (%s); raise maxmemory, or remove what others keep there", said), true
	case strings.Contains(said, "NOREPLICAS"):
		return fmt.Sprintf("the server takes no writes while too few replicas are in touch (%s); bring them back, or lower min-replicas-to-write", said), true
	case strings.Contains(said, "MISCONF"):
		return "the server takes no writes while it cannot save to its disk (MISCONF); look into the server's log, and free its disk or mend the rights on its directory", true
	case redis.IsMaxClientsError(err):
		return fmt.Sprintf("the server takes no more clients (%s); raise its setting maxclients, or end clients that are not needed", said), true
	case redis.IsLoadingError(err):
		return fmt.Sprintf("the server is still reading its data (%s); try again in a moment", said), true
	}
	return "", false
}

// Uncreated tells whether a migration's error is that the role may not make the schema.
func Uncreated(err error) (text string, ok bool) {
	pg, isPostgres := errors.AsType[*pgconn.PgError](err)
	if !isPostgres || pg.Code != "42501" || !strings.Contains(pg.Message, "for database") {
		return "", false
	}
	return fmt.Sprintf("the role may not create the schema (%s); grant it CREATE on the database, or migrate as another role", pg.Message), true
}

// Strange tells whether a store's error is that something else than the URL says listens at its host and port.
func Strange(err error) (text string, ok bool) {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, silent := errors.AsType[*silentError](err)
	_, postgres := errors.AsType[*pgconn.ConnectError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, unparsed, garbled := strings.Cut(err.Error(), "redis: can't parse ")
	switch {
	case certificate:
		return "the server's certificate cannot be verified (" + innermost(err).Error() + "); name the host as the certificate does, or trust its issuer with SSL_CERT_FILE", true
	case postgres:
		return "", false // its words tell enough
	case plain:
		return "the server does not speak TLS; write redis:// instead of rediss://, or mend the port in --store", true
	case silent:
		return "the server does not answer in TLS; where it speaks none write redis:// instead of rediss://, or check the port and the server", true
	case garbled, strings.Contains(err.Error(), "redis: invalid reply"):
		return fmt.Sprintf("what answers is no Redis, or speaks TLS (it said %s); mend host and port in --store, or write rediss:// for TLS", cut(unparsed)), true
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed without an answer: what listens there may be no Redis, speak TLS (write rediss:// then), or have no room for more clients (maxclients); check host and port in --store, and the server", true
	}
	return "", false
}

// innermost is the error that the others are wrapped around.
func innermost(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// redisWords is what a Redis server said, wherever it is in an error.
func redisWords(err error) (said string, ok bool) {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return "", false
	}
	return strings.TrimSuffix(answer.Error(), "."), true
}

func refusedByPostgres(pg *pgconn.PgError, err error) (text string, ok bool) {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case pg.Code == "28000" || pg.Code == "28P01":
		return fmt.Sprintf("--store: the server refuses the login (%s); mend user and password, as in postgres://user:password@host:5432/database, or pg_hba.conf", pg.Message), true
	case pg.Code == "3D000":
		return fmt.Sprintf("--store: the server has no such database (%s); create it, or mend the name behind the host", pg.Message), true
	case connecting && (pg.Code == "42704" || pg.Code == "22023"):
		return fmt.Sprintf("--store: the server refuses a parameter (%s); mend it behind the question mark", pg.Message), true
	}
	return "", false
}
