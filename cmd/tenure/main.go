package main

import (
	"os"

	"github.com/redis/go-redis/v9/logging"

	"github.com/tenure-go/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-go/tenure/cmd/tenure/internal/guard"
	"github.com/tenure-go/tenure/cmd/tenure/internal/suite"
)

func main() {
	logging.Disable() // go-redis writes to standard error; what matters comes back as an error
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case guard.Argument:
			os.Exit(guard.Main())
		case suite.Argument:
			suite.Main()
		}
	}
	os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
