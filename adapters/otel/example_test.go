package tenureotel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	tenureotel "github.com/tenure-go/tenure/adapters/otel"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// A leader that is measured and traced. Your providers export instead of collecting in memory.
func Example() {
	reader, spans := metric.NewManualReader(), tracetest.NewInMemoryExporter()
	meters, err := tenureotel.NewMetrics(tenureotel.MetricsConfig{Provider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		log.Fatal(err)
	}
	defer meters.Close()
	traces := tenureotel.NewTraces(tenureotel.TracesConfig{
		Provider: trace.NewTracerProvider(trace.WithSyncer(spans)), QuickRenewals: time.Second,
	})

	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	spec := runner.Spec{Key: "import", Work: func(context.Context, *runner.Term) error { return nil }}
	r, err := runner.New(store, instance.Process(), spec, runner.Config{Observers: []any{meters, traces}})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Run(context.Background()); err != nil { // until the work is done
		log.Fatal(err)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[float64])
		if !ok {
			continue
		}
		for _, p := range sum.DataPoints {
			if end, _ := p.Attributes.Value("end"); m.Name == "tenure.work.ended" && p.Value > 0 {
				fmt.Println(m.Name, end.AsString(), p.Value)
			}
		}
	}
	for _, s := range spans.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// tenure.work.ended returned 1
	// tenure.acquire
}
