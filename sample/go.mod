module github.com/tenure-go/tenure/sample

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/tenure-go/tenure v0.0.0
	github.com/tenure-go/tenure/adapters/redis v0.0.0
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.50.0
	golang.org/x/term v0.48.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
)

replace (
	github.com/tenure-go/tenure => ..
	github.com/tenure-go/tenure/adapters/redis => ../adapters/redis
)
