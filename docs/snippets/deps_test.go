package snippets

import (
	// What snippets import is linked from here, so that go mod tidy keeps it.
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/redis/go-redis/v9"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"

	_ "github.com/tenure-go/tenure"
	_ "github.com/tenure-go/tenure/adapters/otel"
	_ "github.com/tenure-go/tenure/adapters/postgres"
	_ "github.com/tenure-go/tenure/adapters/prometheus"
	_ "github.com/tenure-go/tenure/adapters/redis"
	_ "github.com/tenure-go/tenure/examples/filestore"
)
