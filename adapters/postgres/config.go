package postgresstore

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenure-go/tenure/lease"
)

// Config is everything optional about a Store. The zero value is the documented defaults.
type Config struct {
	// Schema holds the tables: 1 to 63 bytes, any characters but NUL; default "tenure". Stores in
	// different schemas or databases never see each other.
	Schema string
	// MaxTTL is the longest session TTL of the fleet: 1 ms to 24 h, default lease.DefaultMaxTTL
	// (15 s). Longer sessions are refused, and grants are frozen for this long after the server
	// has lost writes or was restarted. It must be the same in every process of the fleet; raise
	// it everywhere before any TTL.
	MaxTTL time.Duration
	// Connections is how many connections the store opens for its own renewals, heartbeats and
	// releases, so that an application that exhausts its pool loses no lease: 1 to 100, default 2.
	// They are opened on first use. A negative value means none: all calls share what was given.
	Connections int
	// ListenDSN is where the hints' LISTEN connection goes. Empty means where the pool goes. Set it
	// where the pool reaches the server through a transaction pooler: LISTEN needs the server itself.
	ListenDSN string
	// CallTimeout bounds each store call beside the caller's context, and how long one dial may take: above 0, default 5 s.
	CallTimeout time.Duration
	// ForgetAfter is how long the record of a free key is kept: at least MaxTTL, default 7 days.
	// Tokens keep growing after it was purged.
	ForgetAfter time.Duration
	// Logger tells what someone should know: hints that do not work, a new incarnation, unsafe
	// server settings. Nil means silent.
	Logger *slog.Logger
}

const (
	defaultSchema      = "tenure"
	defaultConnections = 2
	defaultCallTimeout = 5 * time.Second
	defaultForgetAfter = 7 * 24 * time.Hour
	maxConnections     = 100
	maxIdentifier      = 63 // bytes; PostgreSQL cuts longer names silently
)

// resolve fills in the defaults and names the first field that cannot be used.
func (c Config) resolve() (Config, error) {
	if c.Schema == "" {
		c.Schema = defaultSchema
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = lease.DefaultMaxTTL
	}
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.ForgetAfter == 0 {
		c.ForgetAfter = max(defaultForgetAfter, c.MaxTTL)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.check()
}

func (c Config) check() error {
	switch {
	case len(c.Schema) > maxIdentifier || !utf8.ValidString(c.Schema) || strings.IndexByte(c.Schema, 0) >= 0:
		return invalid("Config.Schema", strconv.Quote(c.Schema), fmt.Sprintf("must be at most %d bytes of UTF-8 without NUL", maxIdentifier))
	case strings.HasPrefix(c.Schema, "pg_"):
		return invalid("Config.Schema", strconv.Quote(c.Schema), "the prefix pg_ belongs to PostgreSQL; choose another name")
	case lease.CheckTTL(c.MaxTTL) != nil:
		return invalid("Config.MaxTTL", c.MaxTTL.String(), "must be between 1ms and 24h; zero means 15s")
	case c.Connections > maxConnections:
		return invalid("Config.Connections", strconv.Itoa(c.Connections), fmt.Sprintf("must be at most %d; zero means 2, negative none", maxConnections))
	case c.CallTimeout < 0:
		return invalid("Config.CallTimeout", c.CallTimeout.String(), "must be above 0; zero means 5s")
	case c.ForgetAfter < c.MaxTTL:
		return invalid("Config.ForgetAfter", c.ForgetAfter.String(), fmt.Sprintf("must be at least MaxTTL = %v; zero means 7 days", c.MaxTTL))
	}
	return nil
}

// checkFleet refuses a fleet name that cannot be stored.
func checkFleet(name string) error {
	short := strconv.Quote(name)
	if len(name) > lease.MaxKeyLength {
		return invalid("fleet", fmt.Sprintf("of %d bytes", len(name)), fmt.Sprintf("must be at most %d bytes", lease.MaxKeyLength))
	}
	if lease.CheckKey(name) != nil {
		return invalid("fleet", short, "must be 1 to 512 bytes of valid UTF-8 without NUL")
	}
	return nil
}
