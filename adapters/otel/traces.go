package tenureotel

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// TracesConfig holds what is optional. The zero value is the documented defaults.
type TracesConfig struct {
	// Provider makes the tracer; nil means OpenTelemetry's global one.
	Provider trace.TracerProvider
	// Attributes are on every span.
	Attributes []attribute.KeyValue
	// QuickRenewals is how long a renewal that worked may take without being worth a span: there is one for each instance
	// and interval. Zero means that every renewal has one.
	QuickRenewals time.Duration
}

// Traces is an observer of the engines that makes spans. It is safe for concurrent use. Make one with NewTraces.
type Traces struct {
	tracer trace.Tracer
	own    []attribute.KeyValue
	quick  time.Duration

	mu    sync.Mutex // guards what follows
	drain trace.Span // nil until a drain begins, and after its end
	over  bool       // the drain has ended
}

// All that it listens to.
var (
	_ lease.RenewObserver = (*Traces)(nil)
	_ lease.TermObserver  = (*Traces)(nil)
	_ runner.WorkObserver = (*Traces)(nil)
	_ drain.Observer      = (*Traces)(nil)
)

// NewTraces returns an observer that makes spans.
func NewTraces(cfg TracesConfig) *Traces {
	if cfg.Provider == nil {
		cfg.Provider = otel.GetTracerProvider()
	}
	return &Traces{tracer: cfg.Provider.Tracer(scope), own: cfg.Attributes, quick: cfg.QuickRenewals}
}

// span makes one that is over already, and returns a context for its children.
func (t *Traces) span(ctx context.Context, name string, kind trace.SpanKind, from, to time.Time, err error, attributes ...attribute.KeyValue) context.Context {
	ctx, s := t.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithSpanKind(kind), trace.WithAttributes(append(attributes, t.own...)...))
	if err != nil {
		s.RecordError(err, trace.WithTimestamp(to))
		s.SetStatus(codes.Error, err.Error())
	}
	s.End(trace.WithTimestamp(to))
	return ctx
}

// ObserveRenew implements lease.RenewObserver.
func (t *Traces) ObserveRenew(e lease.RenewEvent) {
	if e.Err == nil && e.Took < t.quick {
		return
	}
	attributes := []attribute.KeyValue{
		attribute.String("tenure.instance", string(e.Owner)), attribute.String("tenure.session", e.Session),
		attribute.Bool("tenure.opening", e.Opening), attribute.Int("tenure.held", e.Held),
	}
	if !e.Opening {
		attributes = append(attributes, attribute.Float64("tenure.margin_left", e.Left.Seconds()))
	}
	t.span(context.Background(), "tenure.renew", trace.SpanKindClient, e.At.Add(-e.Took), e.At, e.Err, attributes...)
}

// ObserveTerm implements lease.TermObserver.
func (t *Traces) ObserveTerm(e lease.TermEvent) {
	if e.Kind != lease.TermGranted {
		return
	}
	attributes := append(key(e.Lease.Key, e.Lease.Token), attribute.String("tenure.instance", string(e.Lease.Owner)))
	if e.Before.Owner != "" {
		attributes = append(attributes, attribute.String("tenure.before", string(e.Before.Owner)), attribute.Bool("tenure.lapsed", e.Before.Lapsed))
	}
	t.span(context.Background(), "tenure.acquire", trace.SpanKindInternal, e.At.Add(-e.Before.Free), e.At, nil, attributes...)
}

// ObserveWork implements runner.WorkObserver.
func (t *Traces) ObserveWork(e runner.WorkEvent) {
	if e.End != runner.EndStopped && e.End != runner.EndSteppedDown {
		return
	}
	returned := e.Started.Add(e.Ran)
	gone := returned.Add(e.LetGo)
	attributes := append(key(e.Key, e.Token), attribute.String("tenure.end", string(e.End)), attribute.Bool("tenure.forced", e.Forced))
	if e.Name != "" {
		attributes = append(attributes, attribute.String("tenure.name", e.Name))
	}
	err := e.Err
	if err == nil && e.Forced {
		err = errForced
	}
	whole := t.span(context.Background(), "tenure.handover", trace.SpanKindInternal, gone.Add(-e.WindDown), gone, err, attributes...)
	t.span(whole, "tenure.handover.drain", trace.SpanKindInternal, gone.Add(-e.WindDown), returned, err, key(e.Key, e.Token)...)
	t.span(whole, "tenure.handover.release", trace.SpanKindInternal, returned, gone, nil, key(e.Key, e.Token)...)
}

var errForced = errors.New("the work was cancelled at the drain timeout")

// ObserveDrain implements drain.Observer.
func (t *Traces) ObserveDrain(p drain.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.Began.IsZero() || t.over {
		return
	}
	if t.drain == nil {
		_, t.drain = t.tracer.Start(context.Background(), "tenure.drain", trace.WithTimestamp(p.Began), trace.WithAttributes(t.own...))
	}
	at := p.Began.Add(p.Elapsed)
	counts := []attribute.KeyValue{attribute.Int("tenure.running", len(p.Running)), attribute.Int("tenure.done", len(p.Done))}
	t.drain.AddEvent("progress", trace.WithTimestamp(at), trace.WithAttributes(counts...))
	if p.MarkErr != nil {
		t.drain.RecordError(p.MarkErr, trace.WithTimestamp(at))
	}
	if p.Drained {
		t.drain.SetAttributes(counts...)
		t.drain.End(trace.WithTimestamp(at))
		t.drain, t.over = nil, true
	}
}

func key(name string, token uint64) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("tenure.key", name), attribute.Int64("tenure.token", int64(token))}
}
