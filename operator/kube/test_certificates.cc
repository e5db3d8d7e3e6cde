#include "operator/kube/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace freezepipe::kube {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

constexpr long kDay = 24 * 60 * 60;

Key NewKey() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, size);
}

std::string Pem(X509* certificate) {
  Bio bio(BIO_new(BIO_s_mem()), BIO_free_all);
  PEM_write_bio_X509(bio.get(), certificate);
  return Text(bio.get());
}

std::string Pem(EVP_PKEY* key) {
  Bio bio(BIO_new(BIO_s_mem()), BIO_free_all);
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Text(bio.get());
}

/// An unsigned certificate; `issuer` null: its own.
Certificate NewCertificate(const std::string& name, EVP_PKEY* key, X509* issuer) {
  static long serial = 0;
  Certificate certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDay);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), issuer ? X509_get_subject_name(issuer) : subject);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

void Extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

struct TestAuthority::Keys {
  Key key;
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& name) {
  Key key = NewKey();
  Certificate certificate = NewCertificate(name, key.get(), nullptr);
  Extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  Extend(certificate.get(), NID_key_usage, "critical,keyCertSign");
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  pem_ = Pem(certificate.get());
  keys_ = std::make_unique<Keys>(Keys{std::move(key), std::move(certificate)});
}

TestAuthority::~TestAuthority() = default;

TestIdentity TestAuthority::Issue(const std::string& name, const std::string& alternative) const {
  Key key = NewKey();
  Certificate certificate = NewCertificate(name, key.get(), keys_->certificate.get());
  Extend(certificate.get(), NID_basic_constraints, "CA:FALSE");
  Extend(certificate.get(), NID_subject_alt_name, alternative);
  X509_sign(certificate.get(), keys_->key.get(), EVP_sha256());
  return {.certificate_pem = Pem(certificate.get()), .key_pem = Pem(key.get())};
}

}  // namespace freezepipe::kube
