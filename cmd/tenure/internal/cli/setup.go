package cli

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
)

// done is the JSON of a command that did something.
type done struct {
	Done  bool   `json:"done"`
	Fleet string `json:"fleet,omitempty"`
	Store string `json:"store,omitempty"`
	Key   string `json:"key,omitempty"`
	Owner string `json:"owner,omitempty"`
	Token uint64 `json:"token,omitempty"`
	// Provisioned and FrozenSeconds are for provision.
	Provisioned   *bool   `json:"provisioned,omitempty"`
	FrozenSeconds float64 `json:"frozenSeconds,omitempty"`
	// SchemaVersion is for migrate.
	SchemaVersion int `json:"schemaVersion,omitempty"`
}

func (a *app) provision() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "provision", Short: "Set a new fleet up, so that its first start waits for nobody", Args: no,
		Long: `Says that this fleet is new. Without it the first start waits out --max-ttl, since a store that is
new and one that has lost everything look alike. It has to come before the fleet's first use: a fleet
that exists it leaves as it is, and says so, with status 0; --json tells by "provisioned".

Do it once, by hand or in the step that sets the system up, and never in a start script: after a
loss of data it would take away the wait that keeps a key from having two owners.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel, err := bounded(cmd, timeout)
			if err != nil {
				return err
			}
			defer cancel()
			s, err := a.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			before, err := stores.LookAt(ctx, s)
			if err != nil {
				return err
			}
			if err := s.Provision(ctx); err != nil {
				return err
			}
			return a.sayProvisioned(s, before)
		},
	}
	timeoutFlag(cmd, &timeout, 5*time.Second, "how long to wait for the store")
	return cmd
}

// sayProvisioned tells whether it had an effect, by what was there before. Of several that set one fleet up at the same time each
// may say that it was the one.
func (a *app) sayProvisioned(s stores.Handle, before stores.Fleet) error {
	fresh := !before.Exists
	d := done{Done: true, Provisioned: &fresh, Fleet: a.cfg.Fleet, Store: s.Where(), FrozenSeconds: before.FrozenFor.Seconds()}
	switch name := printable(a.cfg.Fleet, 0); {
	case fresh:
		return a.say(d, "fleet %s is set up at %s", name, s.Where())
	case before.FrozenFor > 0:
		return a.say(d, "fleet %s exists already at %s; nothing was changed, and its grants are frozen for %s more", name, s.Where(), left(before.FrozenFor))
	default:
		return a.say(d, "fleet %s exists already at %s; nothing was changed", name, s.Where())
	}
}

func (a *app) migrate() *cobra.Command {
	var timeout time.Duration
	var sql bool
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the schema in PostgreSQL up to date", Args: no,
		Long: `Makes the schema, or brings it to the version that this program knows. Where it is there already
nothing is changed. Any number of processes may do it at once. It needs a role that may create
the schema; with --print it prints the statements instead, for those who apply them themselves.
` + exitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if sql {
				return a.printSQL()
			}
			ctx, cancel, err := bounded(cmd, timeout)
			if err != nil {
				return err
			}
			defer cancel()
			s, err := a.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			err = s.Migrate(ctx)
			if errors.Is(err, stores.ErrNoSchema) {
				return usage("migrate is for PostgreSQL: Redis keeps no schema, so there is nothing to do (\"tenure provision\" sets a fleet up)")
			}
			if err != nil {
				return err
			}
			n := postgresstore.SchemaVersion()
			return a.say(done{Done: true, Store: s.Where(), SchemaVersion: n}, "the schema at %s is at version %d", s.Where(), n)
		},
	}
	cmd.Flags().BoolVar(&sql, "print", false, "print the SQL and change nothing; no store is needed")
	timeoutFlag(cmd, &timeout, time.Minute, "how long it may take")
	return cmd
}

func (a *app) printSQL() error {
	if a.json {
		return usage("--print prints SQL, not JSON: leave --json out")
	}
	sql, err := postgresstore.SchemaSQL(a.cfg.Schema)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.Out, sql)
	return err
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of this program", Args: no,
		Long: "Shows the version of this program, of Go, and of the newest PostgreSQL schema that it knows.\n" + exitHelp,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version       string `json:"version"`
				Go            string `json:"go"`
				Platform      string `json:"platform"`
				SchemaVersion int    `json:"schemaVersion"`
			}{"unknown", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, postgresstore.SchemaVersion()}
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				v.Version = info.Main.Version
			}
			return a.say(v, "tenure %s (%s %s, schema %d)", v.Version, v.Go, v.Platform, v.SchemaVersion)
		},
	}
}
