package drain_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tenure-go/tenure/drain"
)

// The subject is the coordinator of this process; here it is a stand-in with two workloads.
func Example() {
	coordinator := newSubject(map[string]time.Duration{"mail": 0, "reports": 10 * time.Millisecond})

	drainer, err := drain.New(drain.Config{}, coordinator)
	if err != nil {
		log.Fatal(err)
	}
	if err := drainer.Drain(context.Background()); err != nil {
		if timeout, ok := errors.AsType[*drain.TimeoutError](err); ok {
			log.Print("still running: ", timeout.Running)
		}
		log.Fatal(err)
	}
	fmt.Println("drained", drainer.Progress().Done)
	// Output: drained [mail reports]
}

// A preStop hook on a port of its own that only the platform reaches.
func ExampleDrainer_Handler() {
	coordinator := newSubject(map[string]time.Duration{"mail": 0})
	drainer, err := drain.New(drain.Config{Timeout: time.Minute}, coordinator)
	if err != nil {
		log.Fatal(err)
	}
	hook, err := drainer.Handler(drain.HandlerConfig{Internal: true})
	if err != nil {
		log.Fatal(err)
	}
	internal := http.NewServeMux()
	internal.Handle("/drain", hook) // serve it with a server of its own: http.ListenAndServe(":8081", internal)

	answer := httptest.NewRecorder()
	internal.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/drain", nil))
	var body drain.Answer
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Code, body.State, body.Drained)
	// Output: 200 drained [mail]
}

// A worker's own component that wants to be asked to stop.
func ExampleSignal() {
	var signal drain.Signal // a drain.Drainable
	go signal.RequestDrain()

	<-signal.Draining()
	fmt.Println(signal.Cause())
	// Output: tenure: draining
}
