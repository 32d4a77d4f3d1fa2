module github.com/tenure-go/tenure/bench

go 1.26.0

require (
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/dgryski/go-jump v0.0.0-20170409065014-e1f439676b57
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f
	github.com/serialx/hashring v0.0.0-20200727003509-22c0c7ab6b1b
	github.com/tenure-go/tenure v0.0.0
	golang.org/x/sys v0.50.0
)

require github.com/stretchr/testify v1.12.1 // indirect

replace github.com/tenure-go/tenure => ../
