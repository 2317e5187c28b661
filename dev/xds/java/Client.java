import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.xds.XdsChannelCredentials;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The client of dev/xds in Java. Package caller has the protocol. */
public final class Client {
  private static final String SERVICE = "signpost.dev.Echo";

  /** What is to be done. */
  static final class Request {
    String target;
    String method;
    Map<String, String> headers = Map.of();
    int count;
    int perSecond;
    int timeoutMS;
    int idleMS;
    boolean xdsCredentials;
  }

  /** The outcome of calls, which may end in any thread. */
  static final class Outcome {
    int calls;
    int failed;
    Map<String, Integer> by = new TreeMap<>();
    Map<String, Integer> errors = new TreeMap<>();
    double firstMS;
    double shortestMS;
    double longestMS;
    transient int running;

    synchronized void begin() {
      running++;
    }

    synchronized void end(String by, String error, long begun) {
      double ms = (System.nanoTime() - begun) / 1e6;
      if (calls++ == 0) {
        firstMS = ms;
        shortestMS = ms;
      }
      shortestMS = Math.min(shortestMS, ms);
      longestMS = Math.max(longestMS, ms);
      if (error != null) {
        failed++;
        error = error.substring(0, Math.min(error.length(), 300));
      }
      Map<String, Integer> counts = error == null ? this.by : errors;
      String key = error == null ? by : error;
      if (counts.containsKey(key) || counts.size() < 20) {
        counts.merge(key, 1, Integer::sum);
      }
      running--;
      notifyAll();
    }

    synchronized void await() throws InterruptedException {
      while (running > 0) {
        wait();
      }
    }
  }

  /** Sends and receives bytes as they are. */
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<byte[]>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        }
      };

  private final Map<String, Channel> channels = new HashMap<>();
  private Outcome outcome;
  private ScheduledExecutorService load;

  /** Begins a call. */
  private void begin(Channel channel, Request request, Outcome outcome) {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.<byte[], byte[]>newBuilder(BYTES, BYTES)
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, request.method))
            .build();
    Metadata headers = new Metadata();
    request.headers.forEach(
        (key, value) -> headers.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value));
    outcome.begin();
    long begun = System.nanoTime();
    CallOptions options =
        CallOptions.DEFAULT.withDeadlineAfter(request.timeoutMS, TimeUnit.MILLISECONDS);
    ClientCall<byte[], byte[]> call = channel.newCall(method, options);
    call.start(
        new ClientCall.Listener<byte[]>() {
          private String by = "";

          @Override
          public void onMessage(byte[] message) {
            // A google.protobuf.StringValue: tag, length, text.
            by = new String(message, 2, message.length - 2, StandardCharsets.UTF_8);
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            String error = status.isOk() ? null : status.getCode() + ": " + status.getDescription();
            outcome.end(by, error, begun);
          }
        },
        headers);
    call.request(2);
    call.sendMessage(new byte[0]);
    call.halfClose();
  }

  private static Channel newChannel(Request request) {
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    if (request.xdsCredentials) {
      credentials = XdsChannelCredentials.create(credentials);
    }
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(request.target, credentials);
    if (request.idleMS > 0) {
      builder.idleTimeout(request.idleMS, TimeUnit.MILLISECONDS);
    }
    return builder.build();
  }

  private Object ask(String what, Request request) throws InterruptedException {
    if (what.equals("stop")) {
      load.shutdown();
      load.awaitTermination(1, TimeUnit.MINUTES);
      outcome.await();
      return outcome;
    }
    Channel channel =
        channels.computeIfAbsent(request.target, target -> newChannel(request));
    Outcome next = new Outcome();
    if (what.equals("start")) {
      outcome = next;
      load = Executors.newSingleThreadScheduledExecutor();
      load.scheduleAtFixedRate(
          () -> begin(channel, request, next), 0, 1_000_000_000L / request.perSecond, TimeUnit.NANOSECONDS);
      return new JsonObject();
    }
    for (int i = 0; i < request.count; i++) {
      begin(channel, request, next);
      next.await();
    }
    return next;
  }

  public static void main(String[] args) throws Exception {
    Gson gson = new Gson();
    Client client = new Client();
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonObject request = gson.fromJson(line, JsonObject.class);
      Object reply = client.ask(request.get("do").getAsString(), gson.fromJson(request, Request.class));
      System.out.println(gson.toJson(reply));
      System.out.flush();
    }
    System.exit(0);
  }
}
