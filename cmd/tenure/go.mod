module github.com/tenure-go/tenure/cmd/tenure

go 1.26.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	github.com/tenure-go/tenure v0.0.0
	github.com/tenure-go/tenure/adapters/postgres v0.0.0
	github.com/tenure-go/tenure/adapters/redis v0.0.0
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.50.0
	golang.org/x/term v0.48.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/tenure-go/tenure => ../..
	github.com/tenure-go/tenure/adapters/postgres => ../../adapters/postgres
	github.com/tenure-go/tenure/adapters/redis => ../../adapters/redis
)
