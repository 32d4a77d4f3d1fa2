module github.com/tenure-go/tenure/verify

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/jackc/pgx/v5 v5.13.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/tenure-go/tenure v0.0.0
	github.com/tenure-go/tenure/adapters/postgres v0.0.0-00010101000000-000000000000
	github.com/tenure-go/tenure/adapters/redis v0.0.0-00010101000000-000000000000
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace (
	github.com/tenure-go/tenure => ..
	github.com/tenure-go/tenure/adapters/postgres => ../adapters/postgres
	github.com/tenure-go/tenure/adapters/redis => ../adapters/redis
)
