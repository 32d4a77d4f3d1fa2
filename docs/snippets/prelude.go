package snippets

// imports are the packages that a snippet names without importing them.
var imports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "httputil": "net/http/httputil", "log": "log", "os": "os", "slices": "slices",
	"slog": "log/slog", "sql": "database/sql", "testing": "testing", "time": "time", "url": "net/url", "synctest": "testing/synctest",
	"signal": "os/signal", "syscall": "syscall", "strings": "strings", "atomic": "sync/atomic",

	"pgx": "github.com/jackc/pgx/v5", "pgxpool": "github.com/jackc/pgx/v5/pgxpool", "redis": "github.com/redis/go-redis/v9",

	"tenure": "github.com/tenure-go/tenure", "postgresstore": tenure + "adapters/postgres", "redisstore": tenure + "adapters/redis",
	"filestore": tenure + "examples/filestore",

	"tenureprom": tenure + "adapters/prometheus", "tenureotel": tenure + "adapters/otel",
	"prometheus": "github.com/prometheus/client_golang/prometheus", "promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",
	"metric": "go.opentelemetry.io/otel/metric", "trace": "go.opentelemetry.io/otel/trace",
}

const tenure = "github.com/tenure-go/tenure/"

func init() {
	for _, name := range []string{
		"assigner", "coordinator", "dashboard", "drain", "fencing", "health", "instance", "lease", "memory", "metrics", "registry", "resolver", "tick",
		"runner", "status", "storetest", "tenuretest",
	} {
		imports[name] = tenure + name
	}
}

// prelude is what snippets may use without declaring it.
var prelude = map[string]string{
	"store":    "var store tenure.Store",
	"term":     "var term *tenure.Term",
	"err":      "var err error",
	"feeds":    "var feeds []string",
	"client":   "var client *redis.Client",
	"pool":     "var pool *pgxpool.Pool",
	"db":       "var db *sql.DB",
	"dsn":      "var dsn string",
	"tx":       "var tx pgx.Tx",
	"mux":      "var mux *http.ServeMux",
	"feed":     "type feed struct{ ID, Title, URL string }",
	"work":     "func work(ctx context.Context, term *tenure.Term) error { return nil }",
	"fetch":    "func fetch(ctx context.Context, f feed) error { return nil }",
	"once":     "func once(ctx context.Context) error { return nil }",
	"address":  "var address string",
	"internal": "var internal *http.ServeMux",
	"fleet":    "var fleet *coordinator.Coordinator[string]",
	"c":        "var c *coordinator.Coordinator[string]",

	"importFeed": "func importFeed(ctx context.Context, term *tenure.Term, feed string) error { return nil }",
}

// ofFile is what else the snippets of one document mean.
var ofFile = map[string][]string{
	"docs/postgres.md": {"var store *postgresstore.Store"},
	"docs/redis.md":    {"var store *redisstore.Store"},
	"docs/observability.md": {
		"var registry *prometheus.Registry", "var meterProvider metric.MeterProvider", "var tracerProvider trace.TracerProvider",
		"var catalogue []coordinator.Workload[string]",
		"func work(ctx context.Context, term *tenure.Term, value string) error { return nil }",
	},
}
