module github.com/tenure-go/tenure/examples/filestore

go 1.26.0

require github.com/tenure-go/tenure v0.0.0

require golang.org/x/sys v0.50.0 // indirect

replace github.com/tenure-go/tenure => ../..
