#include "operator/identity/certificates.h"

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace freezepipe::identity {
namespace {

using kube::WallTime;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

constexpr std::chrono::hours kAuthorityLifetime(10 * 365 * 24);
/// Clocks that are behind by less find a new certificate valid.
constexpr std::chrono::hours kClockSkew(1);
constexpr int kSerialBits = 127;
constexpr char kAuthorityName[] = "FreezePipe coordinator authority";
constexpr char kLeafName[] = "FreezePipe coordinator";

absl::Status OpenSslError(const char* what) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", text));
}

Key NewKey() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

Bio Memory() { return Bio(BIO_new(BIO_s_mem()), BIO_free_all); }
Bio Memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all);
}

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, size);
}

absl::StatusOr<PemIdentity> ToPem(X509* certificate, EVP_PKEY* key) {
  const Bio of_certificate = Memory();
  const Bio of_key = Memory();
  if (PEM_write_bio_X509(of_certificate.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(of_key.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return OpenSslError("write a certificate");
  }
  return PemIdentity{.certificate = Text(of_certificate.get()), .key = Text(of_key.get())};
}

Certificate ReadCertificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(Memory(pem).get(), nullptr, nullptr, nullptr), X509_free);
}

Key ReadKey(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(Memory(pem).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
}

bool SetRandomSerial(X509* certificate) {
  const Number serial(BN_new(), BN_free);
  return BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTime(ASN1_TIME* field, WallTime time) {
  return ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr;
}

/// All but its extensions and signature; `issuer` null: its own.
Certificate NewCertificate(const char* name, EVP_PKEY* key, X509* issuer, WallTime begin,
                           WallTime end) {
  Certificate certificate(X509_new(), X509_free);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const bool made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      SetRandomSerial(certificate.get()) &&
      SetTime(X509_getm_notBefore(certificate.get()), begin) &&
      SetTime(X509_getm_notAfter(certificate.get()), end) &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(name), -1, -1, 0) == 1 &&
      X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : subject) ==
          1 &&
      X509_set_pubkey(certificate.get(), key) == 1;
  if (!made) certificate.reset();
  return certificate;
}

bool Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool Sign(X509* certificate, EVP_PKEY* key) {
  return X509_sign(certificate, key, EVP_sha256()) > 0;
}

}  // namespace

absl::StatusOr<PemIdentity> MakeAuthority(WallTime now) {
  const Key key = NewKey();
  if (!key) return OpenSslError("make a key");
  const Certificate certificate = NewCertificate(kAuthorityName, key.get(), nullptr,
                                                 now - kClockSkew, now + kAuthorityLifetime);
  X509* self = certificate.get();
  if (!certificate || !Extend(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !Extend(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !Extend(self, self, NID_subject_key_identifier, "hash") || !Sign(self, key.get())) {
    return OpenSslError("make an authority");
  }
  return ToPem(self, key.get());
}

absl::Status CheckAuthority(const PemIdentity& authority, WallTime now) {
  const Certificate certificate = ReadCertificate(authority.certificate);
  const Key key = ReadKey(authority.key);
  ERR_clear_error();
  if (!certificate) return absl::FailedPreconditionError("the certificate can't be read");
  if (!key) return absl::FailedPreconditionError("the private key can't be read");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::FailedPreconditionError("the private key isn't the certificate's");
  }
  if (X509_check_ca(certificate.get()) == 0) {
    return absl::FailedPreconditionError("the certificate isn't an authority's");
  }
  time_t at = std::chrono::system_clock::to_time_t(now);
  if (X509_cmp_time(X509_get0_notAfter(certificate.get()), &at) < 0) {
    return absl::FailedPreconditionError("the certificate has expired");
  }
  return absl::OkStatus();
}

absl::StatusOr<PemIdentity> IssueLeaf(const PemIdentity& authority,
                                      const std::vector<std::string>& dns_names, WallTime now,
                                      std::chrono::seconds lifetime) {
  const Certificate issuer = ReadCertificate(authority.certificate);
  const Key issuer_key = ReadKey(authority.key);
  if (!issuer || !issuer_key) return OpenSslError("read the authority");
  const Key key = NewKey();
  if (!key) return OpenSslError("make a key");
  const Certificate certificate =
      NewCertificate(kLeafName, key.get(), issuer.get(), now - kClockSkew, now + lifetime);
  X509* leaf = certificate.get();
  const std::string names = absl::StrJoin(
      dns_names, ",",
      [](std::string* text, const std::string& name) { absl::StrAppend(text, "DNS:", name); });
  if (!certificate || !Extend(leaf, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !Extend(leaf, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !Extend(leaf, issuer.get(), NID_ext_key_usage, "serverAuth") ||
      !Extend(leaf, issuer.get(), NID_subject_key_identifier, "hash") ||
      !Extend(leaf, issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      !Extend(leaf, issuer.get(), NID_subject_alt_name, names) || !Sign(leaf, issuer_key.get())) {
    return OpenSslError("issue a certificate");
  }
  return ToPem(leaf, key.get());
}

}  // namespace freezepipe::identity
