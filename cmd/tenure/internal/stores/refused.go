package stores

import (
	"errors"
	"fmt"
	"strings"

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

// Forbidden tells whether a store's error is that a Redis user may not do what a fleet needs; a right may still be given. In
// PostgreSQL that is a SetupError.
func Forbidden(err error) (text string, ok bool) {
	said, known := redisWords(err)
	if !known || !redis.IsPermissionError(err) {
		return "", false
	}
	return fmt.Sprintf("the user lacks a right on the server (%s); give it the fleet's keys and channel and the commands that Tenure uses, with ACL SETUSER", said), true
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
